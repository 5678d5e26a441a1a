// Runs one bundle as a Lambda would, in a process that has loaded nothing else, and times it:
// node run-function.mjs <bundle> <file of events> <calls to warm up>. The figures go to file descriptor 3, as
// standard output belongs to the function's log.
const { readFileSync, writeSync } = process.getBuiltinModule('node:fs')
const [, , bundle, eventsFile, warmUp] = process.argv
const [firstEvent, ...events] = JSON.parse(readFileSync(eventsFile, 'utf8'))

const cpuAtStart = process.cpuUsage()
const start = performance.now()
const { handler } = await import(bundle)
const ready = performance.now()
await call(firstEvent)
const answered = performance.now()
const coldCpu = process.cpuUsage(cpuAtStart)

for (const event of events.splice(0, Number(warmUp))) await call(event)
const cpuBefore = process.cpuUsage()
const latenciesMs = []
for (const event of events) {
  const sent = performance.now()
  await call(event)
  latenciesMs.push(performance.now() - sent)
}
const warmCpu = process.cpuUsage(cpuBefore)

const figures = {
  initMs: ready - start,
  firstRequestMs: answered - ready,
  coldCpuMs: milliseconds(coldCpu),
  latenciesMs,
  cpuMsPerCall: milliseconds(warmCpu) / events.length,
}
writeSync(3, JSON.stringify(figures))
process.exit() // connections that are kept alive would hold the process

function milliseconds({ user, system }) {
  return (user + system) / 1000
}

async function call(event) {
  const deadline = Date.now() + 30_000
  const reply = await handler(event, {
    awsRequestId: crypto.randomUUID(),
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: '$LATEST',
    invokedFunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:bench',
    memoryLimitInMB: '1024',
    getRemainingTimeInMillis: () => deadline - Date.now(),
  })
  // A refusal is quicker than the work: figures of one would flatter.
  if (reply.statusCode !== 201) throw new Error(`${bundle} answered ${reply.statusCode}: ${reply.body}`)
}
