"""Direct call: one question, one answer, no reasoning asked for."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom = operator.Custom(self.llm)

    async def __call__(self, problem: str):
        reply = await self.custom(
            input=problem, instruction="Give the final answer alone, without a sentence around it."
        )
        return reply["response"], 0.0
