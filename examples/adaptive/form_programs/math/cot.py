reply = await answer_generate(input=problem)
return reply["answer"]
