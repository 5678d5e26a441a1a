import { codeImport } from '#shared/codes/code-import.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, codeImport)

export const handler = httpFunction(endpoint)
