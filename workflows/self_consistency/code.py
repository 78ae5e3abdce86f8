"""Self-consistency for code (arXiv:2311.17311): what passes the visible tests, else the solution that
the executor picks.

recipes/matched_votes.py sets `VOTES` to meet a token budget.
"""

VOTES = 4


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom_code_generate = operator.CustomCodeGenerate(self.llm)
        self.sc_ensemble = operator.ScEnsemble(self.llm)

    async def __call__(self, problem: str, entry_point: str):
        solutions = []
        for _ in range(VOTES):
            code = await self.custom_code_generate(
                problem=problem, entry_point=entry_point, instruction=""
            )
            solutions.append(code["response"])
        best = await self.sc_ensemble(solutions=solutions, problem=problem)
        return best["response"], 0.0
