import { run } from './command.ts'
import { stackUsage } from './deployment.ts'
import { printRecords } from './print-records.ts'

const usage = `usage: npm run -s ledger -- --tenant T [--stack NAME]
Prints what was paid back for a tenant as JSON lines, oldest first:
refund_id, charge_id, amount in minor units, currency where the provider told it, at.
${stackUsage}`

if (import.meta.main) await run(usage, () => printRecords('ledger'))
