import { afterAll, beforeAll, describe } from '@jest/globals'
import { type Deployment, deploy } from './deployment.ts'
import { localAwsOverHttp } from './local-aws-over-http.ts'
import { verificationOverHttp } from './operators-over-http.ts'
import { removedPermission } from './permissions-over-http.ts'
import { recordedActions } from './recorded-actions.ts'
import { routingOverHttp } from './routing-over-http.ts'

let service: Deployment
beforeAll(async () => {
  service = await deploy()
}, 600_000)
afterAll(() => service?.stop())

/** The short version of service.campaign.test.ts, which makes the same checks: `npm run test:all` leaves this one out. */
describe('the deployed stack', () => {
  verificationOverHttp(() => service)
  recordedActions(() => service, ['verify'])
  localAwsOverHttp(() => service)
  removedPermission(() => service)
  routingOverHttp(() => service)
})
