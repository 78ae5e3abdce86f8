best = await until_worth(ways=[lambda: answer_generate(input=problem), lambda: programmer(problem=problem)])
return best["answer"]
