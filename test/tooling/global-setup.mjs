import { startForRun } from '#test/support/dynamodb-local.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'

/** One DynamoDB Local for the whole run, unless DYNAMODB_ENDPOINT names one that runs already; one payment provider. */
export default async function start() {
  await startForRun()
  globalThis.paymentProvider = await startPaymentProvider()
  process.env.PAYMENT_PROVIDER_ENDPOINT = globalThis.paymentProvider.endpoint
}
