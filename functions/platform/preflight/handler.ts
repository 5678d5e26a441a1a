import { preflightFunction } from '#shared/platform/aws/preflight-function.ts'

export const handler = preflightFunction()
