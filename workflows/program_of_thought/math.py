"""Program of thought (arXiv:2211.12588): a program computes the answer."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.programmer = operator.Programmer(self.llm)

    async def __call__(self, problem: str):
        result = await self.programmer(problem=problem)
        return result["output"], 0.0
