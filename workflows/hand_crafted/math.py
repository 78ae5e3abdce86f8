"""A program computes the answer; where it fails, a chain of thought stands in."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.programmer = operator.Programmer(self.llm)
        self.answer_generate = operator.AnswerGenerate(self.llm)

    async def __call__(self, problem: str):
        result = await self.programmer(problem=problem)
        if result["output"]:
            return result["output"], 0.0
        reply = await self.answer_generate(input=problem)
        return reply["answer"], 0.0
