import { createImport } from '#shared/imports/create-import.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { s3Files } from '#shared/platform/aws/s3-files.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide: ({ body }, context) => createImport(body, context),
})

export const handler = httpFunction(endpoint, { files: s3Files })
