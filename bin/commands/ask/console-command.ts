import { awsStack, type Define, parseWholeNumber, stackOf, UsageError } from '../../cli/options.ts'
import { printFields } from '../../cli/output.ts'
import { onStopSignal } from '../../cli/stop-signal.ts'

/** The same for all, so that an address of the console works for a colleague who runs it. */
const defaultPort = 4600

/** Defines the command that shows a stage in a browser. */
export function defineConsole(define: Define): void {
  define(
    'console',
    'Show a stack in a browser of this machine until Ctrl-C: requests, deliveries, refunds, operations, queues and audit, and everything about one id, with the command that acts on each entry. It changes nothing, stores nothing on AWS, and reads when a view asks, for the time that it shows. Open the link that it prints: it holds a token of this start. An address of the page holds none, and a colleague who runs the command can open it. `npm start` serves the console of the local run.',
    'console --stack commerce-prod',
  )
    .addOption(awsStack)
    .option('--port <number>', 'the port on this machine', parseWholeNumber, defaultPort)
    .action(async ({ stack, port }) => {
      if (port < 1024 || port > 65_535) throw new UsageError('--port takes a number from 1024 to 65535')
      const { serveConsole } = await import('./console.ts')
      const { link, stop } = await serveConsole(stack, await stackOf(stack), port)
      onStopSignal(() => void stop())
      printFields({ link })
    })
}
