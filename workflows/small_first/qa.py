"""Two draws of the executor `small`; where they disagree the default one answers."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.answer_generate = operator.AnswerGenerate(self.llm)
        self.until_agree = operator.UntilAgree(self.llm)

    async def __call__(self, problem: str):
        cheap = await self.until_agree(
            ways=[lambda: self.answer_generate(input=problem, executor="small")], agree=2, most=2
        )
        if cheap["agreed"]:
            return cheap["answer"], 0.0
        draft = await self.answer_generate(input=problem)
        return draft["answer"], 0.0
