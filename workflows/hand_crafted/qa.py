"""A reasoned answer, reduced to the bare span that the metric compares."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.answer_generate = operator.AnswerGenerate(self.llm)
        self.custom = operator.Custom(self.llm)

    async def __call__(self, problem: str):
        draft = await self.answer_generate(input=problem)
        final = await self.custom(
            input=problem,
            instruction="A first answer was: " + draft["answer"] + "\n"
            "Give the shortest span of the context that answers the question, and nothing else. "
            "If the context does not answer it, reply: unanswerable",
        )
        return final["response"], 0.0
