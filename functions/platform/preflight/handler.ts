import { preflightFunction } from '#shared/platform/aws/gateway-event.ts'

export const handler = preflightFunction()
