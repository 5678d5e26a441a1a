import { recordsCommand } from './tenant-records.ts'

const usage = `usage: npm run -s ledger -- --tenant T [--stack NAME]
Prints the paid refunds of a tenant as JSON lines, oldest first: refund_id, charge_id, amount in minor units, time, and
the currency if the payment provider reported it.`

if (import.meta.main) await recordsCommand(usage, 'ledger')
