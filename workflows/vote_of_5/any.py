"""Self-consistency (arXiv:2203.11171): the answer that most of five chains of thought give."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.answer_generate = operator.AnswerGenerate(self.llm)
        self.vote = operator.Vote(self.llm)

    async def __call__(self, problem: str):
        solutions = []
        for _ in range(5):
            reply = await self.answer_generate(input=problem)
            solutions.append(reply["answer"])
        best = await self.vote(solutions=solutions)
        return best["answer"], 0.0
