// Runs one bundle as a Lambda would, in a process of its own that a test may kill: node run-function.mjs <bundle>.
// An event comes as a message of the parent, and its reply goes back as one. LATER_MILLISECONDS sets its clock ahead.
const later = Number(process.env.LATER_MILLISECONDS ?? 0)
const now = Date.now
Date.now = () => now() + later

const { handler } = await import(process.argv[2])

process.on('message', async (event) => {
  // The timeouts of functions that queues and streams invoke, and of those that requests invoke.
  const deadline = Date.now() + (event.Records ? 30_000 : 12_000)
  const reply = await handler(event, {
    awsRequestId: crypto.randomUUID(),
    functionName: 'orders-create',
    functionVersion: '$LATEST',
    invokedFunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:orders-create',
    memoryLimitInMB: '1024',
    getRemainingTimeInMillis: () => deadline - Date.now(),
  })
  process.send(reply ?? null)
})
process.send('ready')
