"""A chain of thought and a direct answer; where they disagree another chain of thought decides."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.answer_generate = operator.AnswerGenerate(self.llm)
        self.custom = operator.Custom(self.llm)
        self.until_agree = operator.UntilAgree(self.llm)

    async def __call__(self, problem: str):
        best = await self.until_agree(
            ways=[
                lambda: self.answer_generate(input=problem),
                lambda: self.custom(
                    input=problem,
                    instruction="Answer in as few words as possible, without a sentence around it. "
                    "If the context does not answer the question, reply: unanswerable",
                ),
                lambda: self.answer_generate(input=problem),
            ],
            agree=2,
            most=3,
        )
        return best["answer"], 0.0
