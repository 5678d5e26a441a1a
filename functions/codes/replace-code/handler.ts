import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { decide } from '../update-code/handler.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, { decide })
