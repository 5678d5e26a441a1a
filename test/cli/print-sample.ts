import { UsageError } from '#bin/cli/options.ts'
import { confirm, printFields, printJson, printRows, withProgress } from '#bin/cli/output.ts'

const records = [
  { id: 'a', at: '2026-01-31', after: { role: 'Admin' } },
  { id: 'bc', at: '2026-02-01' },
]

/** Uses one function of the output, for tests that run it with and without a terminal. */
const samples: Record<string, () => Promise<void>> = {
  records: () => printRows(records),
  columns: () => printRows(records, 'at', 'id'),
  none: () => printRows([]),
  wide: () => printRows(records.map((record) => ({ ...record, text: 'x'.repeat(100) }))),
  escape: () => printRows([{ text: '\u001b[31mred' }]),
  unseen: () => printRows([{ text: 'a\u202eb\u200dc\u{e0041}' }]),
  json: async () => printJson({ text: '\u001b[31ma\u202eb\u009bc' }),
  record: async () => printFields({ outcome: 'PARTIAL', rejects: [{ row: 2, code: 'VALIDATION.email' }] }),
  confirm: async () => {
    await confirm('Delete it?', undefined)
    console.log('deleted')
  },
  progress: () =>
    withProgress(async (report) => {
      report('running', 0.5)
      console.log('done')
    }),
}

await samples[process.argv[2] ?? '']?.().catch((thrown: Error) => {
  console.log(thrown.message)
  process.exitCode = thrown instanceof UsageError ? 2 : 1
})
