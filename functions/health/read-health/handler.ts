import { defineEndpoint } from '#shared/platform/http/endpoint.ts'
import { lambda } from '#shared/platform/http/lambda.ts'
import { ok } from '#shared/platform/http/reply.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform(_request, { settings }) {
    return ok(settings['health.body'])
  },
})

export const handler = lambda(endpoint)
