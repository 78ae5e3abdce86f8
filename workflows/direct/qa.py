"""Direct call: one question, one answer, no reasoning asked for."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom = operator.Custom(self.llm)

    async def __call__(self, problem: str):
        reply = await self.custom(
            input=problem,
            instruction="Answer in as few words as possible, without a sentence around it. "
            "If the context does not answer the question, reply: unanswerable",
        )
        return reply["response"], 0.0
