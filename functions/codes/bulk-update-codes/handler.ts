import { codeBulkUpdate } from '#shared/codes/code-bulk-update.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineSagaEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineSagaEndpoint(route, codeBulkUpdate)

export const handler = httpFunction(endpoint)
