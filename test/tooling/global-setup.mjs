import { checkPrerequisites } from '#bin/local/prerequisites.ts'
import { startCdkProcess } from '#test/infrastructure/cdk-process.ts'
import { missingBrowser, prepareBrowser } from '#test/support/browser.ts'
import { startForRun } from '#test/support/dynamodb-local.ts'
import {
  startIdentityProvider,
  useIdentityProvider,
} from '#test/support/identity-provider/identity-provider.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'

/**
 * Checks first that this machine has every program that a test needs. Starts one DynamoDB Local for the whole run, unless DYNAMODB_ENDPOINT names a running one. Starts one payment
 * provider, one user pool, and one process that synthesizes the templates.
 */
export default async function start() {
  await checkPrerequisites([await missingBrowser()]).catch((failure) => {
    // Jest would add a stack trace.
    console.error(failure.message)
    process.exit(1)
  })
  await prepareBrowser()
  await startForRun()
  globalThis.paymentProvider = await startPaymentProvider()
  process.env.PAYMENT_PROVIDER_ENDPOINT = globalThis.paymentProvider.endpoint
  globalThis.identityProvider = await startIdentityProvider()
  useIdentityProvider(globalThis.identityProvider)
  globalThis.cdkProcess = await startCdkProcess()
  process.env.CDK_PROCESS = globalThis.cdkProcess.endpoint
}
