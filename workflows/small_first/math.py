"""Two draws of the executor `small`; where they disagree the default one answers."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.programmer = operator.Programmer(self.llm)
        self.until_agree = operator.UntilAgree(self.llm)

    async def __call__(self, problem: str):
        cheap = await self.until_agree(
            ways=[lambda: self.programmer(problem=problem, executor="small")], agree=2, most=2
        )
        if cheap["agreed"]:
            return cheap["answer"], 0.0
        computed = await self.programmer(problem=problem)
        return computed["output"], 0.0
