import { eventDefinitions } from '#functions/events.ts'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { deploymentSecret } from '#shared/platform/aws/secrets-manager.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { type Preparation, prepareSubscriber } from '#shared/subscribers/prepare-subscriber.ts'
import { addressesOf } from '#shared/subscribers/subscriber-address.ts'

/** Less than the time limit of the function. */
const budgetMilliseconds = 25_000
const eventTypes = [...new Set(eventDefinitions.map(({ type }) => type))]

/** Does for the commands of operators what needs the settings, the network or the secret of the deployment. */
export const handler = eventFunction({ deploymentSecret }, (preparation: Preparation, runtime) => {
  const { settings, clock } = runtime
  const budget = startBudget(clock, budgetMilliseconds)
  return prepareSubscriber(preparation, {
    settings,
    clock,
    versionedKey: (purpose, version) => runtime.versionedKey(purpose, budget, version),
    resolve: addressesOf(settings),
    eventTypes,
  })
})
