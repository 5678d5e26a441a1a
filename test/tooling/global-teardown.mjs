import { stopAfterRun } from '#test/support/dynamodb-local.ts'

/** Ends only the processes that this run started. */
export default async function stop() {
  await globalThis.paymentProvider?.stop()
  await globalThis.identityProvider?.stop()
  await globalThis.cdkProcess?.stop()
  await stopAfterRun()
}
