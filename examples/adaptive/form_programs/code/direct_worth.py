best = await until_worth(ways=[lambda: custom_code_generate(problem=problem, entry_point=entry_point, instruction="")])
return best["answer"]
