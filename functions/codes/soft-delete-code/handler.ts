import { softDelete } from '#shared/codes/soft-delete-code.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide: ({ params, precondition }, context) => softDelete({ id: params.id ?? '', precondition }, context),
})
