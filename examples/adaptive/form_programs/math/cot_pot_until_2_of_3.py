best = await until_agree(ways=[lambda: answer_generate(input=problem), lambda: programmer(problem=problem)], agree=2, most=3)
return best["answer"]
