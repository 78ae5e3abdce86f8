"""Three chains of thought; where they disagree the policy reads their answers and names one."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.answer_generate = operator.AnswerGenerate(self.llm)
        self.choose = operator.Choose(self.llm)

    async def __call__(self, problem: str):
        solutions = []
        for _ in range(3):
            reply = await self.answer_generate(input=problem)
            solutions.append(reply["answer"])
        best = await self.choose(problem=problem, solutions=solutions)
        return best["answer"], 0.0
