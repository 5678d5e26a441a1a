import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide(_input, { settings }) {
    return ok(settings['health.body'])
  },
})

export const handler = httpFunction(endpoint)
