"""How clients are checked: each is started for every scenario, and meets a scripted server there."""
