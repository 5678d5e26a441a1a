import { softDelete } from '#shared/codes/soft-delete.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  perform: ({ params, scope, ifMatch }, context) =>
    softDelete({ id: params.id ?? '', ifMatch, scope }, context),
})
