"""Self-consistency (arXiv:2203.11171): the answer that most of several chains of thought give.

recipes/matched_votes.py sets `VOTES` to meet a token budget.
"""

VOTES = 5


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.answer_generate = operator.AnswerGenerate(self.llm)
        self.vote = operator.Vote(self.llm)

    async def __call__(self, problem: str):
        answers = []
        for _ in range(VOTES):
            reply = await self.answer_generate(input=problem)
            answers.append(reply["answer"])
        best = await self.vote(solutions=answers)
        return best["answer"], 0.0
