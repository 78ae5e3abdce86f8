"""Chain of thought without a form: steps as long as they want, then the answer in a box."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom = operator.Custom(self.llm)

    async def __call__(self, problem: str):
        reply = await self.custom(
            input=problem,
            instruction="Let's think step by step. Put the final answer in \\boxed{}.",
        )
        return reply["response"], 0.0
