"""Adaptive consistency (arXiv:2305.11860) over programs of thought: until two of four agree."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.programmer = operator.Programmer(self.llm)
        self.until_agree = operator.UntilAgree(self.llm)

    async def __call__(self, problem: str):
        best = await self.until_agree(
            ways=[lambda: self.programmer(problem=problem)], agree=2, most=4
        )
        return best["answer"], 0.0
