/** The CDK process: serves `inCdkProcess` until the process that started it disconnects or ends. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** The results as JSON, by function and input. */
const results = new Map<string, Promise<string>>()

async function run(call: string): Promise<string> {
  const functions = await import('./cdk-functions.ts')
  const [name, ...input]: [keyof typeof functions, ...never[]] = JSON.parse(call)
  const chosen: (...input: never[]) => Promise<unknown> = functions[name]
  return JSON.stringify(await chosen(...input))
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const call = await text(request)
  const result = results.get(call) ?? run(call)
  results.set(call, result)
  try {
    response.end(await result)
  } catch (thrown) {
    response.writeHead(500).end((thrown as Error).message)
  }
}

// A synthesis blocks this process for seconds, so no timeout and no reuse of connections can be relied on.
const server = createServer({ headersTimeout: 0, requestTimeout: 0 }, (request, response) => {
  response.setHeader('Connection', 'close')
  void serve(request, response)
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit())
