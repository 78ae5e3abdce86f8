"""Chain of thought (arXiv:2201.11903): all steps with their results, then the answer."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.answer_generate = operator.AnswerGenerate(self.llm)

    async def __call__(self, problem: str):
        reply = await self.answer_generate(input=problem)
        return reply["answer"], 0.0
