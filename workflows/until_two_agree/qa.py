"""Adaptive consistency (arXiv:2305.11860) over chains of thought: until two of five agree."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.answer_generate = operator.AnswerGenerate(self.llm)
        self.until_agree = operator.UntilAgree(self.llm)

    async def __call__(self, problem: str):
        best = await self.until_agree(
            ways=[lambda: self.answer_generate(input=problem)], agree=2, most=5
        )
        return best["answer"], 0.0
