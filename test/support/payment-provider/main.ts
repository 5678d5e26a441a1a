/** Runs the fake payment provider until it is signaled to end, or until the process that started it is gone. */
import { parseArgs } from 'node:util'
import { startPaymentProvider } from './payment-provider.ts'

const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } })
const provider = await startPaymentProvider({ port: Number(values.port) })
const end = async () => {
  await provider.stop()
  process.exit()
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, end)
process.once('disconnect', end)
process.send?.('listening')
console.log(`The fake payment provider listens on ${provider.endpoint}`)
