import { eventDefinitions } from '#functions/events.ts'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { type Preparation, prepareSubscriber } from '#shared/subscribers/prepare-subscriber.ts'
import { subscriberResolver } from '#shared/subscribers/subscriber-address.ts'

/** Less than the time limit of the function. */
const budgetMilliseconds = 25_000
const eventTypes = [...new Set(eventDefinitions.map(({ type }) => type))]

/** Does for the commands of operators what needs the settings, the network or the key of the subscribers' secrets. */
export const handler = eventFunction({ secret: readSecret }, (preparation: Preparation, runtime) => {
  const { settings, clock } = runtime
  const budget = startBudget(clock, budgetMilliseconds)
  return prepareSubscriber(preparation, {
    settings,
    clock,
    versionedKey: (name, version) => runtime.versionedKey(name, budget, version),
    resolve: subscriberResolver(settings),
    eventTypes,
  })
})
