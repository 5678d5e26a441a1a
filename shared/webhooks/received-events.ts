import type { EventDefinition } from '../platform/events/event-definition.ts'
import {
  CartUpdated,
  cartUpdated,
  GiftcardApplied,
  giftcardApplied,
  TaxRecalculated,
  taxRecalculated,
} from './cart-events.ts'
import type { Handler } from './handler.ts'
import { OrderPaid, orderPaid } from './order-paid.ts'
import { RefundSucceeded, refundSucceeded } from './refund-succeeded.ts'

/** A handled event, in one of its versions. */
export interface ReceivedEvent {
  definition: EventDefinition
  handler: Handler
}

/** The handled events and their handlers. A new event is one line. */
export const receivedEvents: readonly ReceivedEvent[] = [
  { definition: OrderPaid, handler: orderPaid },
  { definition: RefundSucceeded, handler: refundSucceeded },
  { definition: CartUpdated, handler: cartUpdated },
  { definition: GiftcardApplied, handler: giftcardApplied },
  { definition: TaxRecalculated, handler: taxRecalculated },
]
