import { PromoApplied, PromoRejected } from '#shared/discounts/promo-events.ts'
import { LoginFail, LoginSuccess } from '#shared/login/login-events.ts'
import { OrderCreated, OrderPaid, OrderPlaced } from '#shared/orders/order.ts'
import { OtpDelivered, OtpRequested, OtpVerified } from '#shared/otp/otp-events.ts'
import { carriersOf, type PublishedDefinition } from '#shared/platform/events/event-definition.ts'
import { RefundSucceeded } from '#shared/refunds/refund.ts'

/** Every event that the service publishes. asyncapi.json is generated from this list and `receivedEvents`. */
export const eventDefinitions: readonly PublishedDefinition[] = [
  OrderCreated,
  OrderPlaced,
  OrderPaid,
  RefundSucceeded,
  PromoApplied,
  PromoRejected,
  OtpRequested,
  OtpDelivered,
  OtpVerified,
  LoginSuccess,
  LoginFail,
]

/** What the relay knows of them. */
export const eventCarriers = carriersOf(eventDefinitions)
