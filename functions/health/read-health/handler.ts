import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { ok } from '#shared/platform/request/reply.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform(_request, { settings }) {
    return ok(settings['health.body'])
  },
})

export const handler = httpFunction(endpoint)
