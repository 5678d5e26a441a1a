import Stripe from 'stripe'
import type { Budget } from '../platform/base/clock.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { ProviderRefund, ProviderRefunds } from './provider-refunds.ts'
import { absent, readWithRetries, type StripeOptions, stripeClient } from './stripe-client.ts'
import { providerRefundOf } from './stripe-refund.ts'

const pageSize = 100

/** Returns the refunds of the deployment's provider. */
export async function deployedProviderRefunds(
  context: Pick<WorkContext, 'settings' | 'secret' | 'clock'>,
): Promise<ProviderRefunds> {
  const { endpoint, attemptMilliseconds } = context.settings['refunds.provider']
  const apiKey = await context.secret('payments')
  return stripeRefunds({ apiKey, endpoint, attemptMilliseconds, clock: context.clock })
}

/** Reads the refunds of connected accounts by Stripe's API. */
export function stripeRefunds(options: StripeOptions): ProviderRefunds {
  const stripe = stripeClient(options)

  /** @param account the connected account of the refunds */
  async function* pages(
    account: string,
    selection: Stripe.RefundListParams,
    budget: Budget,
  ): AsyncGenerator<ProviderRefund> {
    let last: string | undefined
    do {
      const parameters = { ...selection, limit: pageSize, ...(last && { starting_after: last }) }
      const { data, has_more } = await readWithRetries(options, budget, async (call) =>
        checkPage(await stripe.refunds.list(parameters, { stripeAccount: account, ...call })),
      )
      yield* data.map(providerRefundOf)
      last = has_more ? data.at(-1)?.id : undefined
    } while (last !== undefined)
  }

  return {
    list({ account, from, to }, budget) {
      const created = { gte: Math.ceil(from / 1000), lt: Math.ceil(to / 1000) }
      return pages(account, { created }, budget)
    },

    async find({ account, id, chargeId, refundId }, budget) {
      if (id !== undefined) {
        const found = await readWithRetries(options, budget, (call) =>
          stripe.refunds.retrieve(id, {}, { stripeAccount: account, ...call }).catch(absent),
        )
        return found && providerRefundOf(found)
      }
      for await (const providerRefund of pages(account, { charge: chargeId }, budget))
        if (providerRefund.refundId === refundId) return providerRefund
      return undefined
    },
  }
}

/** @throws StripeError unless it is a page: the client treats JSON without an error as success */
function checkPage(page: Stripe.ApiList<Stripe.Refund>): Stripe.ApiList<Stripe.Refund> {
  const isPage = Array.isArray(page.data) && (page.data.length > 0 || page.has_more === false)
  if (isPage) return page
  throw new Stripe.errors.StripeAPIError({ message: 'the answer is no page of refunds' })
}
