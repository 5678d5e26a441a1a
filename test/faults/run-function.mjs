// Runs one bundle as a Lambda would, in a process of its own that a test may kill: node run-function.mjs <bundle>.
// An event comes as a message of the parent, and its reply goes back as one. The message `memory` asks for the most memory
// in use since the first such message, in MB.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const { handler } = await import(process.argv[2])

/** How often the memory is measured while an event is handled. Each time, all garbage is collected first. */
const sampleMilliseconds = 1000
let peakMegabytes
let collect

function sample() {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  peakMegabytes = Math.max(peakMegabytes ?? 0, (heapUsed + external) / 1e6)
}

/** Returns the most memory in use since the first call, without garbage: when it is collected depends on the machine. */
function measureMemory() {
  if (!collect) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc')
    sample()
  }
  return peakMegabytes
}

process.on('message', async (event) => {
  if (event === 'memory') {
    process.send(measureMemory())
    return
  }
  // The timeouts of functions that queues and streams invoke, and of those that requests invoke.
  const deadline = Date.now() + (event.Records ? 30_000 : 12_000)
  const invocation = {
    awsRequestId: crypto.randomUUID(),
    functionName: 'orders-create',
    functionVersion: '$LATEST',
    invokedFunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:orders-create',
    memoryLimitInMB: '1024',
    getRemainingTimeInMillis: () => deadline - Date.now(),
  }
  const sampling = collect && setInterval(sample, sampleMilliseconds)
  // An error is a reply, too, as on Lambda.
  const reply = await handler(event, invocation).catch(({ message }) => ({ errorMessage: message }))
  clearInterval(sampling)
  process.send(reply ?? null)
})
process.send('ready')
