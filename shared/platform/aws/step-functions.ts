import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn'
import { lazy } from '../base/cached-load.ts'
import type { Workflow } from '../jobs/workflow.ts'
import { httpHandler } from './http-handler.ts'

const sfn = lazy(() => new SFNClient({ maxAttempts: 3, requestHandler: httpHandler(3000) }))

/** Returns a workflow that runs on a state machine of Step Functions. */
export function stepFunctions(machineArn: string): Workflow {
  return {
    async start(name, input) {
      const command = new StartExecutionCommand({
        stateMachineArn: machineArn,
        name,
        input: JSON.stringify(input),
      })
      await sfn()
        .send(command)
        .catch((thrown: unknown) => {
          if (!(thrown instanceof ExecutionAlreadyExists)) throw thrown
        })
    },

    async stateOf(name) {
      const executionArn = `${machineArn.replace(':stateMachine:', ':execution:')}:${name}`
      try {
        const { status } = await sfn().send(new DescribeExecutionCommand({ executionArn }))
        return status === 'RUNNING' ? 'running' : 'ended'
      } catch (thrown) {
        if (thrown instanceof ExecutionDoesNotExist) return 'absent'
        throw thrown
      }
    },
  }
}
