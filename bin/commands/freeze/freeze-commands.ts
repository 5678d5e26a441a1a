import { Option } from '@commander-js/extra-typings'
import { type Define, stack, stackOf, UsageError, url } from '../../cli/options.ts'
import { printFields, withProgress } from '../../cli/output.ts'

/** The name of the stack of the local run. */
const localStack = 'commerce-local'

/** Defines the commands that stop and reopen a deployment. */
export function defineFreeze(define: Define): void {
  define(
    'freeze',
    'Stop all changes of the table within seconds, without a deployment: --writes lets reads go on, --all stops them too. Callers get 503 with Retry-After. Queues and sweeps wait; committed changes are still published. It returns the time after which nothing is written, once the calls in flight have ended and a request was refused, and names the running imports: they wait, and go on when the freeze ends, up to 12 hours after their start. After an interruption, run it again. Deployments keep the freeze with -c freeze=writes or -c freeze=all.',
    'freeze --writes --stack commerce-prod',
    'freeze --all --stack commerce-prod',
  )
    .option('--writes', 'stop changes only')
    .addOption(new Option('--all', 'stop every request').conflicts('writes'))
    .addOption(url)
    .addOption(stack)
    .action(async ({ writes, all, url, stack: name }) => {
      if (!writes && !all) throw new UsageError('name what to stop: --writes or --all')
      const { freeze, frozenStack } = await import('./freeze.ts')
      const { baseUrlOf } = await import('../stack/deployment.ts')
      const deployed = await stackOf(name)
      const options = {
        mode: all ? ('all' as const) : ('writes' as const),
        baseUrl: baseUrlOf(deployed, url),
      }
      const stack = frozenStack(name ?? localStack, deployed)
      printFields(await withProgress((report) => freeze(stack, { ...options, report })))
    })
  define(
    'unfreeze',
    'End a freeze. Functions get the reserved concurrency that lib/stage.ts names and the provisioned one that the freeze removed, and the queues and sweeps that the freeze disabled are enabled. What was disabled before stays disabled.',
    'unfreeze --stack commerce-prod',
  )
    .addOption(stack)
    .action(async ({ stack: name }) => {
      const { frozenStack, unfreeze } = await import('./freeze.ts')
      printFields(await unfreeze(frozenStack(name ?? localStack, await stackOf(name))))
    })
}
