"""Remote models on a server: asked by one process, which the operator's list bounds.

That process has the network, the credentials and all limits; a computation has a socket that is
bound to its request. In reading order: `remote_list`, and in the server `remote_calls`; in the
computation `handed_models`, `socket_predictions`; between both `call_frames`, `columns`,
`descriptions`; in the process `call_process`, `call_session`, `entry_policies`. `handed_session` is
for servers that compute in their own process.

    remote_calls ═ lease ═ call_session ─▶ adapters.remote ─▶ server of the model
    socket_predictions ═ frames ═══┘
"""
